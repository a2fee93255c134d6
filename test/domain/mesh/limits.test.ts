import t from 'tap'
import { HOPS_MAX } from '../../../core/rpc/hops.ts'
import { PAYLOAD_MAX_BYTES } from '../../../core/rpc/ws/frames.ts'
import {
  MAX_ADVERTISED_BYTES,
  MAX_COST,
  MAX_ENTRY_BYTES,
  MAX_HOPS,
  MAX_LINK_MESSAGE_BYTES,
  MAX_METRIC,
  MAX_PEERS,
} from '../../../domain/mesh/limits.ts'

t.test('accepts a message that is within every limit', (t) => {
  t.ok(MAX_HOPS < HOPS_MAX, 'the hop limit of calls exceeds the limit of routes')
  t.ok(MAX_METRIC >= MAX_COST * MAX_HOPS)
  t.ok(MAX_ENTRY_BYTES * 2 < MAX_LINK_MESSAGE_BYTES && MAX_LINK_MESSAGE_BYTES < PAYLOAD_MAX_BYTES)
  t.ok(MAX_ENTRY_BYTES < MAX_ADVERTISED_BYTES)
  t.ok(MAX_PEERS * 110 < MAX_ENTRY_BYTES, 'the entry of a server with all peers fits')
  t.end()
})
