import { h, Fragment, render } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import Router, { route } from 'preact-router';

const useData = url => {
  const [data, put] = useState(null);
  useEffect(() => {
    fetch(url).then(answer => answer.json()).then(put);
  }, [url]);
  return data;
};

const Home = () => {
  const items = useData('/api/items.json');
  return <>
    <nav><a href="/about">About</a></nav>
    <ul>{items && items.map(id => <li key={id}><a href={`/item/${id}`}>{id}</a></li>)}</ul>
    <button onClick={() => route('/hidden')}>more</button>
  </>;
};

const Item = ({ id }) => {
  const item = useData(`/api/item-${id}.json`);
  return item && <><h1>Item {id}</h1><a href={`/tag/${item.tag}`}>{item.tag}</a></>;
};

const Other = () => <a href="/">Home</a>;

render(<Router><Home path="/" /><Item path="/item/:id" /><Other default /></Router>,
  document.getElementById('root'));
