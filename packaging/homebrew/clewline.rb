# Builds from the main branch: `brew install --HEAD ./clewline.rb`. A release adds `url` and
# `sha256` of its source.
class Clewline < Formula
  desc "Web crawler that never loses its place"
  homepage "https://github.com/clewline/clewline"
  license any_of: ["MIT", "Apache-2.0"]
  head "https://github.com/clewline/clewline.git", branch: "main"

  depends_on "rust" => :build

  def install
    system "cargo", "install", *std_cargo_args(path: "crates/cli")
    generate_completions_from_executable(bin/"clewline", "completions")
    system bin/"clewline", "manual", buildpath/"man"
    man1.install Dir[buildpath/"man/*.1"]
  end

  test do
    assert_match "clewline #{version}", shell_output("#{bin}/clewline -V") unless build.head?
    (testpath/"page.html").write "<title>A page</title><p>Some words.</p>"
    assert_match "A page", shell_output("#{bin}/clewline inspect page.html")
  end
end
