import { spawn } from 'node:child_process'
import { once } from 'node:events'
import t, { type Test } from 'tap'
import { followTree, killTree } from '../../../lib/process/kill-tree.ts'
import { signal } from '../../../lib/process/processes.ts'
import { createWatchdog } from '../../../lib/process/watchdog.ts'

/** A program that has written a line; every process of it holds its output. */
async function start(t: Test, line: string) {
  const child = spawn('/bin/sh', ['-c', line], {
    detached: true,
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  const pid = child.pid!
  const exited = once(child, 'exit')
  const watch = createWatchdog(60_000).watch({
    ...{ pid, memoryBytes: undefined, processes: 100, onExcess() {} },
  })
  t.teardown(watch.end)
  await once(child.stdout!, 'data')
  return { pid, exited, watch, closed: once(child.stdout!, 'close') }
}

t.test('a process with a session and an environment of its own is killed', async (t) => {
  const { watch, closed } = await start(t, 'setsid env -i /bin/sleep 1000 & echo; wait')
  await killTree(watch)
  await closed
  t.pass('nothing holds the output')
})

t.test('so is one that was seen before its parent ended', async (t) => {
  const { pid, exited, watch, closed } = await start(t, 'setsid sleep 1000 & echo; wait')
  const following = followTree(watch, exited)
  await watch.list()
  signal(pid, 'SIGKILL')
  await following
  await killTree(watch)
  await closed
  t.strictSame(await watch.list(), [])
})

t.test('one that forks for ever does not escape', async (t) => {
  const line =
    'echo; setsid env -i /bin/sh -c "while :; do /bin/sleep 1000 & /bin/sleep 0.01; done" & wait'
  const { watch, closed } = await start(t, line)
  await killTree(watch)
  await closed
  t.strictSame(await watch.list(), [])
})
