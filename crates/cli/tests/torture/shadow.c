/* A disk that keeps only what was synced.
 *
 * Loaded before the C library, it takes over fsync and fdatasync: each keeps a copy of the file's
 * content, or of the folder's entries, as it is at that moment. What a loss of power would leave
 * can be put together from the copies: a name is there if its folder was synced after it was
 * made, its content is what the file's own last sync saw, and a file that was never synced is
 * empty. Nothing is promised by rename, by closing, or by time.
 *
 * CLEWLINE_SHADOW is an empty folder for the copies, CLEWLINE_SHADOW_ROOT the folder that is
 * watched; what is in it at the start counts as synced. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NAME_SIZE 80

static char root[PATH_MAX], shadow[PATH_MAX - 256];
static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;

static void fail(const char *what) {
    fprintf(stderr, "shadow: %s: %s\n", what, strerror(errno));
    abort();
}

/* A name for a file that no later file of the same number shares. */
static int name_of(int folder, const char *path, int flags, struct statx *facts, char *name) {
    if (statx(folder, path, flags, STATX_BASIC_STATS | STATX_BTIME, facts) != 0) return -1;
    snprintf(name, NAME_SIZE, "%llu-%lld.%u", (unsigned long long)facts->stx_ino,
             (long long)facts->stx_btime.tv_sec, facts->stx_btime.tv_nsec);
    return 0;
}

static void place(const char *kind, const char *name, char *fresh, char *final) {
    snprintf(final, PATH_MAX, "%s/%s/%s", shadow, kind, name);
    snprintf(fresh, PATH_MAX, "%s/%s/.fresh", shadow, kind);
}

static void copy_range(int from, int to, off_t begin, off_t end) {
    static char buffer[1 << 16];
    while (begin < end) {
        size_t want = end - begin < (off_t)sizeof buffer ? (size_t)(end - begin) : sizeof buffer;
        ssize_t got = pread(from, buffer, want, begin);
        if (got < 0) fail("read");
        if (got == 0) return;
        if (pwrite(to, buffer, (size_t)got, begin) != got) fail("write");
        begin += got;
    }
}

static void keep_file(const char *path, const char *name) {
    char fresh[PATH_MAX], final[PATH_MAX];
    place("files", name, fresh, final);
    int from = open(path, O_RDONLY | O_CLOEXEC);
    if (from < 0) fail(path);
    int to = open(fresh, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (to < 0) fail(fresh);
    off_t end = lseek(from, 0, SEEK_END);
    for (off_t at = 0; at < end;) {
        off_t data = lseek(from, at, SEEK_DATA);
        if (data < 0 || data >= end) break;
        off_t hole = lseek(from, data, SEEK_HOLE);
        if (hole < 0 || hole > end) hole = end;
        copy_range(from, to, data, hole);
        at = hole;
    }
    if (ftruncate(to, end) != 0) fail("truncate");
    close(from);
    close(to);
    if (rename(fresh, final) != 0) fail(final);
}

static void keep_folder(const char *path, const char *name) {
    char fresh[PATH_MAX], final[PATH_MAX], entry_name[NAME_SIZE];
    place("folders", name, fresh, final);
    DIR *folder = opendir(path);
    FILE *list = fopen(fresh, "we");
    if (!folder || !list) fail(path);
    for (struct dirent *entry; (entry = readdir(folder));) {
        struct statx facts;
        if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..")) continue;
        /* What is gone again in this moment has no name to keep. */
        if (name_of(dirfd(folder), entry->d_name, AT_SYMLINK_NOFOLLOW, &facts, entry_name)) continue;
        fprintf(list, "%c %s %s\n", S_ISDIR(facts.stx_mode) ? 'd' : 'f', entry_name, entry->d_name);
    }
    closedir(folder);
    if (fclose(list) != 0 || rename(fresh, final) != 0) fail(final);
}

static void keep(int file) {
    char link[64], path[PATH_MAX], name[NAME_SIZE];
    struct statx facts;
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0) return;
    path[length] = 0;
    if (strncmp(path, root, strlen(root)) != 0) return;
    if (name_of(file, "", AT_EMPTY_PATH, &facts, name)) fail(path);
    pthread_mutex_lock(&turn);
    if (S_ISDIR(facts.stx_mode)) keep_folder(path, name);
    else keep_file(link, name);
    pthread_mutex_unlock(&turn);
}

static void keep_all(const char *path) {
    char below[PATH_MAX], name[NAME_SIZE];
    struct statx facts;
    if (name_of(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, &facts, name)) fail(path);
    if (!S_ISDIR(facts.stx_mode)) {
        keep_file(path, name);
        return;
    }
    keep_folder(path, name);
    DIR *folder = opendir(path);
    if (!folder) fail(path);
    for (struct dirent *entry; (entry = readdir(folder));) {
        if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..")) continue;
        snprintf(below, sizeof below, "%s/%s", path, entry->d_name);
        keep_all(below);
    }
    closedir(folder);
}

__attribute__((constructor)) static void begin(void) {
    char fresh[PATH_MAX], final[PATH_MAX], name[NAME_SIZE];
    struct statx facts;
    const char *where = getenv("CLEWLINE_SHADOW"), *what = getenv("CLEWLINE_SHADOW_ROOT");
    if (!where || !what || !realpath(what, root)) fail("the environment");
    snprintf(shadow, sizeof shadow, "%s", where);
    place("files", "", fresh, final);
    if (mkdir(final, 0700) != 0) fail(final);
    place("folders", "", fresh, final);
    if (mkdir(final, 0700) != 0) fail(final);
    keep_all(root);
    /* The last thing: only with it the copies are complete. */
    if (name_of(AT_FDCWD, root, 0, &facts, name)) fail(root);
    snprintf(final, sizeof final, "%s/root", shadow);
    snprintf(fresh, sizeof fresh, "%s/.root", shadow);
    FILE *file = fopen(fresh, "we");
    if (!file || fputs(name, file) < 0 || fclose(file) != 0) fail(fresh);
    if (rename(fresh, final) != 0) fail(final);
}

int fsync(int file) {
    keep(file);
    return 0;
}

int fdatasync(int file) {
    keep(file);
    return 0;
}
