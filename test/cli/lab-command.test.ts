import { afterEach, expect, it } from 'vitest';
import { completeCommands, labCommand, rememberRunsDirectory } from '../../src/cli/lab-command.ts';

afterEach(() => rememberRunsDirectory('runs'));

it('a command to show is short where the runs are where everybody looks', () => {
  expect(labCommand('attach', 'demo-1')).toBe('agentrl-lab attach demo-1');
  expect(completeCommands('go on with: agentrl-lab resume demo-1')).toBe(
    'go on with: agentrl-lab resume demo-1',
  );
});

it('and names their directory where they are elsewhere, as a shell needs it', () => {
  rememberRunsDirectory('/data/my runs');
  expect(labCommand('attach', 'demo-1')).toBe("agentrl-lab attach demo-1 --runs '/data/my runs'");
  rememberRunsDirectory('/data/runs');
  expect(completeCommands('turn its knobs with: agentrl-lab set; or: agentrl-lab stop demo-1')).toBe(
    'turn its knobs with: agentrl-lab set --runs /data/runs; or: agentrl-lab stop demo-1 --runs /data/runs',
  );
  expect(completeCommands('list them with: agentrl-lab filter ls; see: agentrl-lab workers --help')).toBe(
    'list them with: agentrl-lab filter ls --runs /data/runs; see: agentrl-lab workers --runs /data/runs --help',
  );
  const complete = `see ${labCommand('fsck', 'demo-1', '--repair')}; or ${labCommand('stop')}`;
  expect(completeCommands(complete)).toBe(complete);
  expect(completeCommands('again: agentrl-lab replay e7, agentrl-lab workers drain 0')).toBe(
    'again: agentrl-lab replay e7 --runs /data/runs, agentrl-lab workers drain 0 --runs /data/runs',
  );
  expect(completeCommands('all keys: agentrl-lab config')).toBe('all keys: agentrl-lab config');
});
