import t from 'tap'
import { toCell, toField } from '../../../cli/ui/bytes.ts'

const BINARY = Uint8Array.of(0xff, 0)

t.test('UTF-8 bytes become a text field, other bytes a base64 field', async (t) => {
  t.same(toField('value', Buffer.from('\ufeffä\n')), { value: '\ufeffä\n' })
  t.same(toField('value', BINARY), { value_base64: '/wA=' })
})

t.test('a table cell escapes control characters and encodes binary data', async (t) => {
  t.equal(toCell(Buffer.from('ä')), 'ä')
  t.equal(toCell(Buffer.from('a\tb\x1b')), '"a\\tb\\u001b"')
  t.equal(toCell(BINARY), 'base64:/wA=')
})
