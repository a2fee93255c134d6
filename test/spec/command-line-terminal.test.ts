import { cpSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { ROOT } from '../../scripts/root.ts'
import { runMx } from '../fixtures/mx.ts'
import { startServerProcess } from '../fixtures/server-process.ts'
import { skipUnless } from '../fixtures/servers.ts'
import { makeTempFolder } from '../fixtures/temp-folder.ts'
import { runAtTerminal, type TerminalOptions } from '../fixtures/terminal.ts'

/** Escape sequences for colors. */
const COLOUR = /\u001b\[(?:3\d|9\d|1)m/

const server = await startServerProcess(t, ['--profile=test'])
const cwd = makeTempFolder(t, 'home')
const env = { HOME: cwd, MX_ENV_LOCAL_ADDRESS: server.proxy }

t.test('login: prompts for id and password without an echo', async (t) => {
  if (skipUnless(t, 'script') === undefined) return
  const dialogue = [
    ['Enter username: ', 'admin'],
    ['Enter password: ', 'mx'],
  ] as const
  const output = await runAtTerminal(t, ['login'], { cwd, env, dialogue })
  t.match(output, 'Enter username: ')
  t.match(toScreen(output!).join('\n'), /(^|\n)Enter password:\nSuccessfully logged in\.$/)
  t.match((await runMx(['user', 'token'], { cwd, env })).stdout, /^ey/)
})

t.test('run: shows progress while it runs, and the result afterwards', async (t) => {
  if (skipUnless(t, 'script') === undefined) return
  cpSync(join(ROOT, 'examples/helloworld'), join(cwd, 'helloworld'), { recursive: true })
  const output = await runAtTerminal(t, ['run', './helloworld'], { cwd, env })
  t.match(output, '\u001b[', 'the progress is animated')
  t.match(output, COLOUR)
  t.match(toScreen(output!).join('\n'), /helloworld.*run/i)
  t.match(output, `uploading ${join(cwd, 'helloworld')} (`, 'the folder is named')
  const [, url = ''] = /^Try: curl '(http:\S+)'$/m.exec(toScreen(output!).join('\n')) ?? []
  t.equal(url, `${server.gateway}/helloworld/call?name=hello`)
  t.equal((await fetch(url)).status, 200)
  for (const options of [{ columns: 72 }, { columns: 200, env: { ...env, COLUMNS: '72' } }]) {
    const lines = await showStatus(t, options)
    for (const line of lines) t.ok(line.length <= 72, line)
    t.match(lines[1], /^helloworld .* running .*…$/, 'long lines are truncated')
  }
  const { stdout } = await runMx(['status'], { cwd, env })
  t.match(stdout, /^helloworld\t.*owner=admin, group=mx/m, 'the output to a pipe is complete')
  const killed = await runAtTerminal(t, ['kill', 'helloworld'], { cwd, env })
  t.match(toScreen(killed!).join('\n'), /helloworld/)
})

t.test('NO_COLOR: prints no colors', async (t) => {
  if (skipUnless(t, 'script') === undefined) return
  const options = { cwd, env: { ...env, NO_COLOR: '1' } }
  const output = await runAtTerminal(t, ['run', './helloworld'], options)
  t.match(output, '\u001b[', 'the progress is animated without colors')
  t.notMatch(output, COLOUR)
  await runAtTerminal(t, ['kill', 'helloworld'], options)
})

t.test(
  'an empty NO_COLOR does not disable colors, including in the log of a gateway',
  async (t) => {
    if (skipUnless(t, 'script') === undefined) return
    for (const [NO_COLOR, isColoured] of [
      ['', true],
      ['1', false],
    ] as const) {
      const dialogue = [['no service is configured', '\u0003']] as const
      const options = { cwd, env: { ...env, NO_COLOR }, dialogue }
      const output = await runAtTerminal(t, ['api', '--address=127.0.0.1:0'], options)
      t.match(output, 'no service is configured')
      t.equal(COLOUR.test(output!), isColoured, `NO_COLOR=${NO_COLOR}`)
    }
  },
)

t.test('Ctrl-C at a prompt ends with status 130', async (t) => {
  if (skipUnless(t, 'script') === undefined) return
  const dialogue = [['Enter username: ', '\u0003']] as const
  const output = await runAtTerminal(t, ['login'], { cwd, env, dialogue, printStatus: true })
  t.match(toScreen(output!).at(-1), 'status 130')
})

/** The lines of `mx status`. */
async function showStatus(t: Test, options: Partial<TerminalOptions>): Promise<readonly string[]> {
  return toScreen((await runAtTerminal(t, ['status'], { cwd, env, ...options }))!)
}

/** The lines of a terminal without colors and cursor movements. */
function toScreen(output: string): readonly string[] {
  return output
    .replaceAll(/\u001b\[[\d;?]*[A-Za-z]/g, '')
    .split(/\r?\n/)
    .map((line) => line.slice(line.lastIndexOf('\r') + 1).trimEnd())
    .filter((line) => line !== '')
}
