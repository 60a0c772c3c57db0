import { useEffect, useState } from 'react';
import { createRoot } from 'react-dom/client';
import { BrowserRouter, Link, Route, Routes, useNavigate, useParams } from 'react-router-dom';

const useData = url => {
  const [data, put] = useState(null);
  useEffect(() => {
    put(null);
    fetch(url).then(answer => answer.json()).then(put);
  }, [url]);
  return data;
};

const Home = () => {
  const items = useData('/api/items.json');
  const go = useNavigate();
  return <>
    <nav><Link to="/about">About</Link></nav>
    <ul>{items && items.map(id => <li key={id}><Link to={`/item/${id}`}>{id}</Link></li>)}</ul>
    <div onClick={() => go('/hidden')}>more</div>
  </>;
};

const Item = () => {
  const { id } = useParams();
  const item = useData(`/api/item-${id}.json`);
  return item && <><h1>Item {id}</h1><Link to={`/tag/${item.tag}`}>{item.tag}</Link></>;
};

createRoot(document.getElementById('root')).render(<BrowserRouter><Routes>
  <Route path="/" element={<Home />} />
  <Route path="/item/:id" element={<Item />} />
  <Route path="*" element={<Link to="/">Home</Link>} />
</Routes></BrowserRouter>);
