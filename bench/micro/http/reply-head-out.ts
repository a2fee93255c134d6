import { createHeaderBlock, HeaderList } from '../../../core/http/headers.ts'
import { encodeReplyHead } from '../../../core/listener/reply-head.ts'
import type { Micro } from '../micro.ts'

const block = createHeaderBlock(['server', 'nginx/1.22.1', 'content-type', 'application/json'])
const known = HeaderList.of(block)
const fields = new HeaderList(block.fields)
for (const list of [known, fields]) list.append('x-request-id', '4HJxMiK6MsJV')

const micro: Micro = {
  benches: {
    'after a block, as bytes': () => encodeReplyHead(200, known),
    // Includes the work that the library does before it can send a string.
    'same headers as text, flat and encoded': () =>
      Buffer.from(encodeReplyHead(200, fields) as string),
  },
}

export default micro
