import '@angular/compiler';
import { Component, inject, provideZonelessChangeDetection, signal } from '@angular/core';
import { bootstrapApplication } from '@angular/platform-browser';
import { ActivatedRoute, provideRouter, Router, RouterLink, RouterOutlet } from '@angular/router';

const json = (path: string) => fetch(path).then(answer => answer.json());

@Component({
  selector: 'app-home',
  imports: [RouterLink],
  template: `<nav><a routerLink="/about">About</a></nav>
    <ul>@for (id of items(); track id) {<li><a [routerLink]="'/item/' + id">{{ id }}</a></li>}</ul>
    <span (click)="more()">more</span>`,
})
class Home {
  items = signal<number[]>([]);
  router = inject(Router);
  constructor() {
    json('/api/items.json').then(all => this.items.set(all));
  }
  more() {
    this.router.navigateByUrl('/hidden');
  }
}

@Component({
  selector: 'app-item',
  imports: [RouterLink],
  template: `<h1>Item {{ id }}</h1>
    @if (tag(); as name) {<a [routerLink]="'/tag/' + name">{{ name }}</a>}`,
})
class Item {
  id = inject(ActivatedRoute).snapshot.params['id'];
  tag = signal('');
  constructor() {
    json(`/api/item-${this.id}.json`).then(found => this.tag.set(found.tag));
  }
}

@Component({ selector: 'app-other', imports: [RouterLink], template: '<a routerLink="/">Home</a>' })
class Other {}

@Component({ selector: 'app-root', imports: [RouterOutlet], template: '<router-outlet />' })
class App {}

// The page has one place for any application.
const root = document.getElementById('root')!;
root.append(document.createElement('app-root'));
const base = document.createElement('base');
base.href = '/';
document.head.append(base);
bootstrapApplication(App, {
  providers: [
    provideZonelessChangeDetection(),
    provideRouter([
      { path: '', component: Home, pathMatch: 'full' },
      { path: 'item/:id', component: Item },
      { path: '**', component: Other },
    ]),
  ],
});
