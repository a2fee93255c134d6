import t from 'tap'
import { createHeaderBlock, HeaderList } from '../../../core/http/headers.ts'
import { encodeReplyHead } from '../../../core/listener/reply-head.ts'

const read = (status: number, headers: HeaderList): string => {
  const head = encodeReplyHead(status, headers)
  return typeof head === 'string' ? head : Buffer.from(head).toString('latin1')
}
const block = createHeaderBlock(['content-type', 'application/json', 'vary', 'origin'])

function withBlock(...fields: string[]): HeaderList {
  const list = HeaderList.of(block)
  for (let i = 0; i < fields.length; i += 2) list.append(fields[i]!, fields[i + 1]!)
  return list
}

t.test('encodes the status line and the headers without the final line break', async (t) => {
  t.equal(read(200, new HeaderList()), '200 OK')
  t.equal(read(404, new HeaderList(['a', '1'])), '404 Not Found\r\na: 1')
  t.equal(read(299, new HeaderList(['a', '1', 'b', '2'])), '299 Unknown\r\na: 1\r\nb: 2')
})

t.test('heads that share a header block contain their additional headers', async (t) => {
  const lists = [
    withBlock('x-request-id', 'abc'),
    withBlock('x-request-id', 'a longer one'),
    withBlock(),
    withBlock('x-request-id', 'abc', 'set-cookie', 'a=1', 'set-cookie', 'b=2'),
    withBlock('other', 'abc'),
    withBlock('x-request-id', 'abc'),
    withBlock('x-request-id', ''),
    withBlock('long', 'y'.repeat(300)),
    withBlock('x-request-id', 'z'),
  ]
  for (const list of lists) t.equal(`${read(200, list)}\r\n`, `200 OK\r\n${list.format()}`)
  t.equal(read(201, lists[0]!), `201 Created\r\n${lists[0]!.format().slice(0, -2)}`)
})

t.test('encodes a head with a byte above 0x7F as bytes', async (t) => {
  const list = withBlock('x-name', '\xfc')
  t.type(encodeReplyHead(200, list), Uint8Array)
  t.match(read(200, list), /x-name: \xfc$/)
})

t.test('encodes a header block with a deleted header as single headers', async (t) => {
  const list = withBlock('x-request-id', 'abc')
  list.delete('vary')
  t.equal(read(200, list), '200 OK\r\ncontent-type: application/json\r\nx-request-id: abc')
})
