import { spawn } from 'node:child_process'
import t, { type Test } from 'tap'
import { createWatchdog, type Watched } from '../../../lib/process/watchdog.ts'

/** A process that leads a group. */
function startGroup(t: Test, words: string): number {
  const { pid } = spawn('sh', ['-c', words], { detached: true, stdio: 'ignore' })
  t.teardown(() => process.kill(-pid!, 'SIGKILL'))
  return pid!
}

/** Resolves with what a group of processes is told to have in excess. */
function watchGroup(t: Test, words: string, limits: Partial<Watched>): Promise<string> {
  return new Promise((resolve) => {
    createWatchdog(20).watch({
      pid: startGroup(t, words),
      memoryBytes: undefined,
      processes: 100,
      onExcess: resolve,
      ...limits,
    })
  })
}

t.test('too many processes', async (t) => {
  const told = await watchGroup(t, 'for i in 1 2 3 4 5; do sleep 1000 & done; wait', {
    processes: 4,
  })
  t.match(told, /^had [56] processes, limit 4$/)
})

t.test('too much memory, of all processes together', async (t) => {
  const told = await watchGroup(t, 'node -e "setInterval(() => {}, 1000)" & wait', {
    memoryBytes: 20 * 1024 * 1024,
  })
  t.match(told, /^used \d+ MiB of memory, limit 20 MiB$/)
})

t.test('nothing is told of what is watched no more', async (t) => {
  const watchdog = createWatchdog(5)
  const told: string[] = []
  const copy = { pid: startGroup(t, 'sleep 1000'), memoryBytes: 1, processes: 100 }
  watchdog.watch({ ...copy, onExcess: () => told.push('unwatched') }).end()
  await new Promise<void>((resolve) => {
    watchdog.watch({ ...copy, onExcess: () => resolve() })
  })
  t.strictSame(told, [])
})
