import { mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { runAuthReset } from '../../../cli/auth/reset.ts'
import { makeTempFolder } from '../../fixtures/temp-folder.ts'

t.test('mx auth reset writes the new password as text or JSON', async (t) => {
  const folder = makeTempFolder(t, 'data')
  mkdirSync(join(folder, 'store'), { mode: 0o700 })
  const reset = async (...words: string[]): Promise<string> => {
    const written = t.capture(process.stdout, 'write', () => true)
    try {
      await runAuthReset([`--data_dir=${folder}`, ...words])
    } finally {
      written.restore()
    }
    return String(written()[0]!.args[0])
  }
  const read = () => readFileSync(join(folder, 'admin_password'), 'utf8').trim()
  t.match(await reset(), /^Restored the rule default/)
  for (const words of [['-o', 'json'], ['-ojson'], ['--output=json']]) {
    const output = JSON.parse(await reset(...words))
    t.match(output, { account: 'admin', password: read(), rules: [] }, words.join(' '))
  }
  await t.rejects(reset('-o', 'xml'), { message: /Invalid output/ })
})
