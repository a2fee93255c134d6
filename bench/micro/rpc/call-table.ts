import { CallTable } from '../../../core/rpc/ws/call-table.ts'
import type { Micro } from '../micro.ts'

/** Adds a call, finds and deletes the oldest, with a number of them in between. */
function createTurn(
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

function createMapTurn(pending: number): () => unknown {
  const map = new Map<number, object>()
  return createTurn(
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
    '10 pending': createTurn(new CallTable<object>(), 10),
    '100 000 pending': createTurn(new CallTable<object>(), 100_000),
    'Map, 10 pending': createMapTurn(10),
    'Map, 100 000 pending': createMapTurn(100_000),
  },
}

export default micro
