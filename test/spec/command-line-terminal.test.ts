import { cpSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { ROOT } from '../../scripts/root.ts'
import { startServerProcess } from '../fixtures/server-process.ts'
import { skipUnless } from '../fixtures/servers.ts'
import { makeTempFolder } from '../fixtures/temp-folder.ts'
import { runAtTerminal } from '../fixtures/terminal.ts'

const server = await startServerProcess(t, ['--profile=test'])
const cwd = makeTempFolder(t, 'home')
const env = { HOME: cwd, MX_ENV_LOCAL_ADDRESS: server.proxy }

t.test('login: asks for id and password, and shows no password', async (t) => {
  if (skipUnless(t, 'script') === undefined) return
  const dialogue = [
    ['Enter username: ', 'admin'],
    ['Enter password: ', 'mx'],
  ] as const
  const output = await runAtTerminal(t, ['login'], { cwd, env, dialogue })
  t.match(output, 'Enter username: ')
  t.match(toScreen(output!).join('\n'), /(^|\n)Enter password:\nSuccessfully logged in\.$/)
})

t.test('run: what is done shows while it is done, and what became of it stays', async (t) => {
  if (skipUnless(t, 'script') === undefined) return
  cpSync(join(ROOT, 'examples/helloworld'), join(cwd, 'helloworld'), { recursive: true })
  const output = await runAtTerminal(t, ['run', './helloworld'], { cwd, env })
  t.match(output, '\u001b[', 'it moves')
  t.match(toScreen(output!).join('\n'), /helloworld.*run/i)
  const killed = await runAtTerminal(t, ['kill', 'helloworld'], { cwd, env })
  t.match(toScreen(killed!).join('\n'), /helloworld/)
})

/** The lines of a terminal, without what colours and moves. */
function toScreen(output: string): readonly string[] {
  return output
    .replaceAll(/\u001b\[[\d;?]*[A-Za-z]/g, '')
    .split(/\r?\n/)
    .map((line) => line.slice(line.lastIndexOf('\r') + 1).trimEnd())
    .filter((line) => line !== '')
}
