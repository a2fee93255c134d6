import { basename } from 'node:path'
import t from 'tap'
import { parseObject, toStatus } from '../../../cli/runtime/objects.ts'

t.test('an object is parsed from a name or path with an optional reference', async (t) => {
  t.same(parseObject('mail'), { name: 'mail', version: '' })
  t.same(parseObject('mail@feature/x'), { name: 'mail', version: 'feature/x' })
  t.same(parseObject('./services/mail/'), { name: 'mail', version: '' })
  t.same(parseObject('github.com/someone/mail.git@v1'), { name: 'mail', version: 'v1' })
  for (const text of ['', '/'])
    t.throws(() => parseObject(text), { message: /^the name is empty/, status: 2 })
  t.same(parseObject('.'), { name: basename(process.cwd()), version: '' })
})

t.test('status numbers have names, and new ones are unknown', async (t) => {
  const toObject = (status: number) => ({ name: '', version: '', source: '', status, metadata: {} })
  t.equal(toStatus(toObject(4)), 'running')
  t.equal(toStatus(toObject(7)), 'error')
  t.equal(toStatus(toObject(99)), 'unknown')
})
