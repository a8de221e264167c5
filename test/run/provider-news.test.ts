import { expect, it } from 'vitest';
import { ProviderNews } from '../../src/run/provider-news.ts';

it('what a child runs on is told once, aloud when it is not what was asked for', () => {
  const events: string[] = [];
  const news = new ProviderNews({
    event: (level, kind, subject, message) => void events.push(`${level} ${kind} ${subject}: ${message}`),
  });
  const cpu = { provider: 'cpu', fellBackFrom: [] };
  news.tell('trainer@local', cpu);
  news.tell('trainer@local', cpu);
  news.tell('worker 0@local', { provider: 'cpu', fellBackFrom: [{ provider: 'cuda', reason: 'no GPU' }] });
  news.tell('trainer@local', { ...cpu, provider: 'cuda' });
  expect(events).toEqual([
    'info provider trainer@local: runs on cpu',
    'warning provider worker 0@local: runs on cpu; not on cuda: no GPU',
    'info provider trainer@local: runs on cuda',
  ]);
});
