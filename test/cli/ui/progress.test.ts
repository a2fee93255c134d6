import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { formatBar } from '../../../cli/ui/progress.ts'
import { openCli } from '../../fixtures/cli.ts'
import { runAtTerminal } from '../../fixtures/terminal.ts'

const { home } = await openCli(t)

t.test('a progress bar shows its percentage', async (t) => {
  t.equal(formatBar(0), `${'░'.repeat(20)} 0 %`)
  t.equal(formatBar(0.5), `${'█'.repeat(10)}${'░'.repeat(10)} 50 %`)
  t.equal(formatBar(1), `${'█'.repeat(20)} 100 %`)
})

t.test('a terminal shows each step, and one line at the end', async (t) => {
  mkdirSync(join(home, 'mail'))
  writeFileSync(join(home, 'mail', 'main.js'), '')
  const output = await runAtTerminal(t, ['run', './mail'], { cwd: home })
  if (output === undefined) return t.comment('script is not installed')
  for (const step of ['packing', 'uploading', 'building', 'starting']) t.match(output, ` ${step}`)
  t.match(output, /mail is running after \d+\.\d s\r\n$/)
})
