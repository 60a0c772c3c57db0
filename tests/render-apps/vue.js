import { createApp, ref, watchEffect } from 'vue';
import { createRouter, createWebHistory } from 'vue-router';

const Home = {
  setup() {
    const items = ref([]);
    fetch('/api/items.json').then(answer => answer.json()).then(all => { items.value = all; });
    return { items };
  },
  template: `<nav><router-link to="/about">About</router-link></nav>
    <ul><li v-for="id in items" :key="id"><router-link :to="'/item/' + id">{{ id }}</router-link></li></ul>
    <span @click="$router.push('/hidden')">more</span>`,
};

const Item = {
  props: ['id'],
  setup(props) {
    const item = ref(null);
    watchEffect(() => fetch(`/api/item-${props.id}.json`).then(answer => answer.json())
      .then(found => { item.value = found; }));
    return { item };
  },
  template: '<h1>Item {{ id }}</h1><router-link v-if="item" :to="\'/tag/\' + item.tag">{{ item.tag }}</router-link>',
};

const Other = { template: '<router-link to="/">Home</router-link>' };

const router = createRouter({
  history: createWebHistory(),
  routes: [
    { path: '/', component: Home },
    { path: '/item/:id', component: Item, props: true },
    { path: '/:rest(.*)', component: Other },
  ],
});
createApp({ template: '<router-view />' }).use(router).mount('#root');
