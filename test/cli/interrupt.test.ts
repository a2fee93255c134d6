import { spawn } from 'node:child_process'
import { once } from 'node:events'
import t from 'tap'
import { toNodeArgs } from '../fixtures/programs.ts'

const PROGRAM = new URL('../fixtures/interruptible.ts', import.meta.url)

for (const signal of ['SIGINT', 'SIGTERM'] as const)
  t.test(`${signal} runs the cleanup and exits with status 130`, async (t) => {
    const child = spawn(process.execPath, toNodeArgs(PROGRAM))
    t.teardown(() => child.kill('SIGKILL'))
    await once(child.stdout, 'data')
    child.kill(signal)
    const [chunk] = await once(child.stderr, 'data')
    t.equal(String(chunk), 'mx: cancelled\n')
    t.same(await once(child, 'close'), [130, null])
  })
