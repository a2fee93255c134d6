import { spawn } from 'node:child_process'
import t, { type Test } from 'tap'
import { createWatchdog, type Watched } from '../../../lib/process/watchdog.ts'

/** Starts a process that leads a group and returns its id. */
function startGroup(t: Test, words: string): number {
  const { pid } = spawn('sh', ['-c', words], { detached: true, stdio: 'ignore' })
  t.teardown(() => process.kill(-pid!, 'SIGKILL'))
  return pid!
}

/** Resolves with the reported excess of a group of processes. */
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

t.test('a group with too many processes is reported with the limit', async (t) => {
  const output = await watchGroup(t, 'for i in 1 2 3 4 5; do sleep 1000 & done; wait', {
    processes: 4,
  })
  t.match(output, /^had [56] processes, limit 4$/)
})

t.test('memory of all processes of a group counts toward the memory limit', async (t) => {
  const output = await watchGroup(t, 'node -e "setInterval(() => {}, 1000)" & wait', {
    memoryBytes: 20 * 1024 * 1024,
  })
  t.match(output, /^used \d+ MiB of memory, limit 20 MiB$/)
})

t.test('an ended watch reports nothing', async (t) => {
  const watchdog = createWatchdog(5)
  const events: string[] = []
  const copy = { pid: startGroup(t, 'sleep 1000'), memoryBytes: 1, processes: 100 }
  watchdog.watch({ ...copy, onExcess: () => events.push('unwatched') }).end()
  await new Promise<void>((resolve) => {
    watchdog.watch({ ...copy, onExcess: () => resolve() })
  })
  t.strictSame(events, [])
})
