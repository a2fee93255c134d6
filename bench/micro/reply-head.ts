import { HeaderList } from '../../core/headers.ts'
import { type LineMemory, parseReplyHead, type ReplyHead } from '../../core/upstream/reply-head.ts'
import type { Micro } from './micro.ts'

const head: ReplyHead = {
  status: 0,
  headers: new HeaderList(),
  length: 0,
  persistent: true,
  idleSeconds: 0,
}
const small = [
  ...['HTTP/1.1 200 OK', 'Server: nginx/1.22.1', 'Date: Fri, 20 Nov 2026 14:00:00 GMT'],
  ...['Content-Type: application/json', 'Content-Length: 62', 'Connection: keep-alive', '', ''],
].join('\r\n')
const large = small.replace(
  'Connection:',
  `${Array.from({ length: 20 }, (_, i) => `X-Field-${i}: value ${i}\r\n`).join('')}Connection:`,
)
const known: LineMemory = []
const knownLarge: LineMemory = []

const micro: Micro = {
  benches: {
    '5 fields, as the reply before': () => parseReplyHead(small, head, known),
    '5 fields, never seen': () => parseReplyHead(small, head, []),
    '25 fields, as the reply before': () => parseReplyHead(large, head, knownLarge),
  },
}

export default micro
