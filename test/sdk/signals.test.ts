import { spawn } from 'node:child_process'
import { once } from 'node:events'
import t, { type Test } from 'tap'
import { toNodeArgs } from '../fixtures/programs.ts'

const PROGRAM = new URL('../fixtures/handles-signals.ts', import.meta.url)

/** Starts a process whose components stop in the listed ways. */
function start(t: Test, ...reactions: string[]) {
  const child = spawn(process.execPath, toNodeArgs(PROGRAM, ...reactions), {
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  t.teardown(() => child.kill('SIGKILL'))
  let output = ''
  child.stderr.on('data', (chunk) => {
    output += chunk
  })
  const ended = once(child, 'close').then(([code]) => ({ code, output }))
  const greeting = async (text: string): Promise<void> => {
    while (!output.includes(text)) await once(child.stderr, 'data')
  }
  return { child, ended, greeting }
}

for (const signal of ['SIGTERM', 'SIGINT'] as const) {
  t.test(`${signal}: all components stop, and then the process exits with status 0`, async (t) => {
    const { child, ended, greeting } = start(t, 'fast', 'slow')
    await greeting('ready')
    child.kill(signal)
    const { code, output } = await ended
    t.equal(code, 0)
    t.match(output, /"reaction":"fast"[^\n]*stopped/)
    t.match(output, /"reaction":"slow"[^\n]*stopped/)
  })
}

t.test('a second signal exits immediately with status 1', async (t) => {
  const { child, ended, greeting } = start(t, 'never')
  await greeting('ready')
  child.kill('SIGINT')
  await greeting('send the signal again to exit immediately')
  child.kill('SIGTERM')
  const { code, output } = await ended
  t.equal(code, 1)
  t.match(output, /second signal, exiting immediately/)
})

t.test('a Ctrl-C repeated by npm is not a second signal', async (t) => {
  const { child, ended, greeting } = start(t, 'slow')
  await greeting('ready')
  child.kill('SIGINT')
  await greeting('send the signal again to exit immediately')
  child.kill('SIGINT')
  t.equal((await ended).code, 0)
})

t.test('a failed graceful shutdown exits with status 1 and the reason', async (t) => {
  const { child, ended, greeting } = start(t, 'fail', 'fast')
  await greeting('ready')
  child.kill('SIGTERM')
  const { code, output } = await ended
  t.equal(code, 1)
  t.match(output, /graceful shutdown failed/)
  t.match(output, /"reaction":"fast"[^\n]*stopped/)
})

for (const failure of ['throw', 'reject']) {
  t.test(
    `an uncaught exception (${failure}) is logged on one line, and the process exits with status 1`,
    async (t) => {
      const { code, output } = await start(t, failure, 'fast').ended
      t.equal(code, 1)
      const lines = output.trimEnd().split('\n')
      const entries = lines.map((line) => JSON.parse(line) as Record<string, unknown>)
      t.match(entries, [
        { msg: 'ready' },
        {
          level: 50,
          msg: /uncaught exception, exiting/,
          err: { stack: /boom[\s\S]*handles-signals/ },
        },
      ])
      t.equal(entries.length, 2)
    },
  )
}
