import { spawn } from 'node:child_process'
import { once } from 'node:events'
import t, { type Test } from 'tap'
import { followTree, killTree } from '../../../lib/process/kill-tree.ts'
import { signal } from '../../../lib/process/processes.ts'
import { createWatchdog } from '../../../lib/process/watchdog.ts'

/** Starts a program and waits for its first line; each of its processes keeps the output open. */
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

t.test('kills a descendant with its own session and environment', async (t) => {
  const { watch, closed } = await start(t, 'setsid env -i /bin/sleep 1000 & echo; wait')
  await killTree(watch)
  await closed
  t.pass('no process keeps the output open')
})

t.test('kills a descendant whose parent has exited, if it was seen before', async (t) => {
  const { pid, exited, watch, closed } = await start(t, 'setsid sleep 1000 & echo; wait')
  const following = followTree(watch, exited)
  await watch.list()
  signal(pid, 'SIGKILL')
  await following
  await killTree(watch)
  await closed
  t.strictSame(await watch.list(), [])
})

t.test('kills a descendant that forks without end', async (t) => {
  const line =
    'echo; setsid env -i /bin/sh -c "while :; do /bin/sleep 1000 & /bin/sleep 0.01; done" & wait'
  const { watch, closed } = await start(t, line)
  await killTree(watch)
  await closed
  t.strictSame(await watch.list(), [])
})
