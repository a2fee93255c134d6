import t from 'tap'
import { EMPTY, toDraft, toRequest } from '../../../web/events/draft.ts'

const base64 = (text: string | Buffer) => Buffer.from(text).toString('base64')

t.test('builds the publish request from a draft', (t) => {
  const draft = { ...EMPTY, topic: ' orders ', payload: '{ "id": 12345678901234567890 }' }
  t.strictSame(toRequest({ ...draft, metadata: 'source=shop', time: '2026-11-22T21:30:05' }), {
    request: {
      topic: 'orders',
      payload: base64('{"id":12345678901234567890}'),
      metadata: { source: 'shop' },
      timestamp_ms: new Date(2026, 10, 22, 21, 30, 5).getTime(),
    },
  })
  t.match(toRequest({ ...draft, format: 'text', payload: 'hé' }), {
    request: { payload: base64('hé'), timestamp_ms: 0 },
  })
  t.match(toRequest({ ...draft, format: 'hex', payload: '00 ff' }), {
    request: { payload: 'AP8=' },
  })
  const file = { name: 'bytes', bytes: new Uint8Array([0, 255]) }
  t.match(toRequest({ ...draft, payload: '{', file }), { request: { payload: 'AP8=' } }, 'a file')
  t.end()
})

t.test('reports an error for each invalid field', (t) => {
  const draft = { ...EMPTY, payload: '{', metadata: 'x', time: 'x' }
  t.match(toRequest(draft), {
    errors: {
      topic: 'required',
      payload: /^invalid JSON/,
      metadata: /^line 1 must be name=value/,
      time: /^time must be a date/,
    },
  })
  t.end()
})

t.test('republishes a stored event unchanged', (t) => {
  for (const payload of [
    base64('{"id":12345678901234567890,"b":[1]}'),
    base64('some text\nof two lines'),
    base64(Buffer.from([0, 255, 1])),
    '',
  ]) {
    const metadata = { source: 'shop', lines: 'a\nb' }
    const event = { id: 'x', topic: 'orders', sequence: 5, timestamp_ms: 5, metadata, payload }
    t.strictSame(toRequest(toDraft(event)), {
      request: { topic: 'orders', payload, metadata, timestamp_ms: 0 },
    })
  }
  t.end()
})
