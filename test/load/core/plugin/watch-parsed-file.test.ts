import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { watchParsedFile } from '../../../../core/plugin/watch-parsed-file.ts'
import { createTestEnv } from '../../../../sdk/testing.ts'
import { waitUntil } from '../../../fixtures/raw-backend.ts'
import { makeTempFolder } from '../../../fixtures/temp-folder.ts'

const parse = (text: string): string => {
  if (text === 'wrong') throw new RangeError('wrong')
  return text
}

/** Waits for another poll of all watched files, using a file whose watch starts later. */
async function passCheck(t: Test, file: string): Promise<void> {
  const { log, messages } = createTestEnv()
  const other = `${file}-other`
  writeFileSync(other, 'one')
  const opened = watchParsedFile(other, { parse, onChange: () => {}, log })
  t.teardown(opened.close)
  writeFileSync(other, 'second')
  await waitUntil(() => messages.length === 1)
}

t.test(
  'reloads a file within a second of an edit, and keeps the previous content if it is invalid',
  async (t) => {
    const file = join(makeTempFolder(t, 'keys'), 'lines')
    const { log, messages } = createTestEnv()
    const values: string[] = []
    const onChange = (text: string): void => void values.push(text)
    t.throws(() => watchParsedFile(file, { parse, onChange, log }), { code: 'ENOENT' })
    writeFileSync(file, 'wrong')
    t.throws(() => watchParsedFile(file, { parse, onChange, log }), { message: 'wrong' })
    writeFileSync(file, 'one')
    const opened = watchParsedFile(file, { parse, onChange, log })
    t.teardown(opened.close)
    t.equal(opened.value, 'one')
    writeFileSync(file, 'second')
    await waitUntil(() => messages.length === 1)
    writeFileSync(file, 'wrong')
    await waitUntil(() => messages.length === 2)
    await passCheck(t, file)
    t.equal(messages.length, 2, 'logged once')
    rmSync(file)
    await waitUntil(() => messages.length === 3)
    writeFileSync(file, 'the last')
    await waitUntil(() => messages.length === 4)
    t.same(values, ['second', 'the last'])
    t.same(messages, [
      'info: file reloaded',
      'error: file not reloaded; the previous content stays in use',
      'error: file not reloaded; the previous content stays in use',
      'info: file reloaded',
    ])
  },
)
