import { CallTable } from '../../../core/rpc/ws/call-table.ts'
import type { Micro } from '../micro.ts'

/** Adds a call, then finds and deletes the oldest of `pending` calls. */
function createCycle(
  table: { add: (id: number, call: object) => void } & Pick<CallTable<object>, 'get' | 'delete'>,
  pending: number,
): () => unknown {
  const call = {}
  let id = 0
  while (id < pending) table.add(++id, call)
  return () => {
    table.add(++id, call)
    const oldest = id - pending
    return table.get(oldest) !== undefined && table.delete(oldest)
  }
}

function createMapCycle(pending: number): () => unknown {
  const map = new Map<number, object>()
  return createCycle(
    {
      add: (id, call) => map.set(id, call),
      get: (id) => map.get(id),
      delete: (id) => map.delete(id),
    },
    pending,
  )
}

const micro: Micro = {
  benches: {
    '10 pending': createCycle(new CallTable<object>(), 10),
    '100 000 pending': createCycle(new CallTable<object>(), 100_000),
    'Map, 10 pending': createMapCycle(10),
    'Map, 100 000 pending': createMapCycle(100_000),
  },
}

export default micro
