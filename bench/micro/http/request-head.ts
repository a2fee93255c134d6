import { formatRequestHead } from '../../../core/upstream/http1/request-head.ts'
import { BenchExchange, BROWSER_FIELDS } from '../bench-exchange.ts'
import type { Micro } from '../micro.ts'

const bare = new BenchExchange(['user-agent', 'wrk'])
const browser = new BenchExchange(BROWSER_FIELDS)

const micro: Micro = {
  benches: {
    // Flattened as a socket would do, because V8 concatenates lazily.
    'format, 1 header': () => Buffer.byteLength(formatRequestHead(bare), 'latin1'),
    'format, 5 fields': () => Buffer.byteLength(formatRequestHead(browser), 'latin1'),
  },
}

export default micro
