import {
  createReplyHead,
  type LineMemory,
  parseReplyHead,
} from '../../../core/upstream/http1/reply-head.ts'
import type { Micro } from '../micro.ts'

const head = createReplyHead()
const fields = [
  ...['HTTP/1.1 200 OK', 'Server: nginx/1.22.1', 'Date: Fri, 20 Nov 2026 14:00:00 GMT'],
  ...['Content-Type: application/json', 'Content-Length: 62', 'Connection: keep-alive'],
]
const extraFields = Array.from({ length: 20 }, (_, i) => `X-Field-${i}: value ${i}`)
const small = Buffer.from(`${fields.join('\r\n')}\r\n\r\n{"message":"Hello John"}`)
const large = Buffer.from(`${[...fields, ...extraFields].join('\r\n')}\r\n\r\n`)
const known: LineMemory = []
const knownLarge: LineMemory = []

const micro: Micro = {
  benches: {
    // Created from bytes, as received. Other strings have a different representation in V8 that is slower to scan.
    '5 headers, same as the previous response': () =>
      parseReplyHead(small.toString('latin1'), head, known),
    '5 fields, never seen': () => parseReplyHead(small.toString('latin1'), head, []),
    '25 headers, same as the previous response': () =>
      parseReplyHead(large.toString('latin1'), head, knownLarge),
  },
}

export default micro
