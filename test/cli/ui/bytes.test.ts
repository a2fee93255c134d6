import t from 'tap'
import { toCell, toField } from '../../../cli/ui/bytes.ts'

const BINARY = Uint8Array.of(0xff, 0)

t.test(
  'bytes are a text where they are UTF-8, else base64 under a name that says so',
  async (t) => {
    t.same(toField('value', Buffer.from('\ufeffä\n')), { value: '\ufeffä\n' })
    t.same(toField('value', BINARY), { value_base64: '/wA=' })
  },
)

t.test('as a cell they break no line', async (t) => {
  t.equal(toCell(Buffer.from('ä')), 'ä')
  t.equal(toCell(Buffer.from('a\tb\x1b')), '"a\\tb\\u001b"')
  t.equal(toCell(BINARY), 'base64:/wA=')
})
