import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { formatBar } from '../../../cli/runtime/steps.ts'
import { openCli } from '../../fixtures/cli.ts'
import { toNodeWords } from '../../fixtures/programs.ts'

const MAIN = new URL('../../../cli/main.ts', import.meta.url)
const { home } = await openCli(t)

/** What `mx` writes to a terminal; undefined: there is no program that makes one. */
async function runAtTerminal(t: Test, ...words: string[]): Promise<string | undefined> {
  const command = [process.execPath, ...toNodeWords(MAIN, ...words)].map((word) => `'${word}'`)
  const { CI: _, ...rest } = process.env
  const env = { ...rest, TERM: 'xterm' }
  const script = spawn('script', ['-qfec', command.join(' '), '/dev/null'], {
    ...{ cwd: home, env, stdio: ['ignore', 'pipe', 'ignore'] },
  })
  t.teardown(() => script.kill('SIGKILL'))
  let output = ''
  script.stdout.on('data', (chunk) => {
    output += chunk
  })
  try {
    await once(script, 'close')
    return output
  } catch {
    return undefined
  }
}

t.test('a bar shows its share', async (t) => {
  t.equal(formatBar(0), `${'░'.repeat(20)} 0 %`)
  t.equal(formatBar(0.5), `${'█'.repeat(10)}${'░'.repeat(10)} 50 %`)
  t.equal(formatBar(1), `${'█'.repeat(20)} 100 %`)
})

t.test('a terminal shows the steps, and one line at the end', async (t) => {
  mkdirSync(join(home, 'mail'))
  writeFileSync(join(home, 'mail', 'main.js'), '')
  const output = await runAtTerminal(t, 'run', './mail')
  if (output === undefined) return t.comment('script is not installed')
  for (const step of ['packing', 'uploading', 'building', 'starting']) t.match(output, ` ${step}`)
  t.match(output, /mail is running after \d+\.\d s\r\n$/)
})
