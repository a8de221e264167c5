import { expect, it } from 'vitest';
import { type HostSpec, hostSpecSchema } from '../../src/domain/host.ts';
import { childCommand } from '../../src/hosts/command.ts';

function host(spec: object): HostSpec {
  return hostSpecSchema.parse(spec);
}

it('a host over ssh gets the lab as one remote command that leaves no shell behind', () => {
  const spec = host({ name: 'gpu', ssh: 'me@gpu', sshOptions: ['-p', '2222'] });
  expect(childCommand(spec, 'worker').join(' ')).toBe(
    'ssh -T -p 2222 -o BatchMode=yes -o ServerAliveInterval=5 -o ServerAliveCountMax=3 -o ConnectTimeout=10 -- me@gpu exec agentrl-lab worker-process',
  );
});

it('a command of the host takes the place of agentrl-lab, here and over ssh', () => {
  const command = 'node "$HOME/my lab/main.js"';
  expect(childCommand(host({ name: 'a', ssh: 'gpu', command }), 'trainer').at(-1)).toBe(
    'exec node "$HOME/my lab/main.js" trainer-process',
  );
  expect(childCommand(host({ name: 'a', command }), 'worker')).toEqual([
    '/bin/sh',
    '-c',
    'exec node "$HOME/my lab/main.js" worker-process',
  ]);
});

it('without a command, this machine runs the entry with its own Node', () => {
  const [file, ...args] = childCommand(host({ name: 'local' }), 'worker');
  expect(file).toBe(process.execPath);
  expect(args.at(-1)).toMatch(/src\/sampling\/main\.ts$/u);
  expect(args).toContain('--import');
});
