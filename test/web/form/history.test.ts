import t from 'tap'
import {
  addToHistory,
  clearHistory,
  type Kept,
  type PastCall,
  readHistory,
} from '../../../web/form/history.ts'

/** A store of so many characters. */
function openStore(room = Number.POSITIVE_INFINITY): Kept {
  const items = new Map<string, string>()
  return {
    getItem: (key) => items.get(key) ?? null,
    setItem(key, value) {
      if (value.length > room) throw new Error('QuotaExceededError')
      items.set(key, value)
    },
    removeItem: (key) => void items.delete(key),
  }
}

const CALL: PastCall = {
  ...{ at: 1, namespace: '', service: 'helloworld', endpoint: 'Helloworld.Call' },
  ...{ request: '{"name":"John"}', code: 200, tookMs: 5 },
}

t.test('calls are kept by account, the last one first, a hundred at most', (t) => {
  const kept = openStore()
  for (let at = 1; at <= 120; at++) addToHistory(kept, 'ann', { ...CALL, at })
  const calls = readHistory(kept, 'ann')
  t.equal(calls.length, 100)
  t.equal(calls[0]?.at, 120)
  t.same(readHistory(kept, 'bob'), [])
  clearHistory(kept, 'ann')
  t.same(readHistory(kept, 'ann'), [])
  t.end()
})

t.test('a request too long to keep is left out of what is kept', (t) => {
  const kept = openStore()
  addToHistory(kept, 'ann', { ...CALL, request: 'x'.repeat(30_000) })
  t.equal(readHistory(kept, 'ann')[0]?.request, undefined)
  t.equal(readHistory(kept, 'ann').length, 1)
  t.end()
})

t.test('where there is little room the oldest go; where there is none, nothing fails', (t) => {
  const small = openStore(500)
  for (let at = 1; at <= 10; at++) addToHistory(small, 'ann', { ...CALL, at })
  const [last] = readHistory(small, 'ann')
  t.equal(last?.at, 10)
  addToHistory(openStore(0), 'ann', CALL)
  t.end()
})

t.test('what is there and is no history counts as none', (t) => {
  for (const text of ['{', '5', 'null', '[{}]', '[null]', '[{"at":"x"}]']) {
    const kept = openStore()
    kept.setItem('mx.calls.ann', text)
    t.same(readHistory(kept, 'ann'), [], text)
  }
  t.end()
})
