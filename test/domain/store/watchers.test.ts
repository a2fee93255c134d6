import t from 'tap'
import type { StoreEvent } from '../../../core/contracts/store.ts'
import { createStoreWatchers } from '../../../domain/store/watchers.ts'

const TABLE = { database: 'mx', table: 'things' }

function toEvent(key: string, table = TABLE): StoreEvent {
  return { type: 'write', table, key }
}

t.test('reports changes to watchers of the table and prefix', (t) => {
  const watchers = createStoreWatchers()
  const received: string[] = []
  const recordAs = (name: string) => ({
    onEvent: ({ key }: StoreEvent) => void received.push(`${name} ${key}`),
    onMissedEvents: () => void received.push(`${name} gap`),
  })
  const stopAll = watchers.add(TABLE, '', recordAs('all'))
  const stopSome = watchers.add({ ...TABLE }, 'user/', recordAs('users'))
  watchers.add({ database: 'mx.things', table: 'x' }, '', recordAs('other'))
  watchers.onEvent(toEvent('user/1'))
  watchers.onEvent(toEvent('b'))
  watchers.onEvent(toEvent('user/2', { database: 'other', table: 'things' }))
  t.strictSame(received.splice(0), ['all user/1', 'users user/1', 'all b'])
  watchers.onMissedEvents()
  t.strictSame(received.splice(0), ['all gap', 'users gap', 'other gap'])
  t.equal(watchers.size, 3)
  stopAll()
  stopAll()
  t.equal(watchers.size, 2)
  watchers.onEvent(toEvent('user/3'))
  t.strictSame(received.splice(0), ['users user/3'])
  stopSome()
  watchers.onEvent(toEvent('user/4'))
  t.strictSame(received, [])
  t.end()
})

t.test('allows a listener to unsubscribe during a notification', (t) => {
  const watchers = createStoreWatchers()
  let count = 0
  const stop = watchers.add(TABLE, '', {
    onEvent: () => {
      count++
      stop()
    },
    onMissedEvents: () => {},
  })
  watchers.add(TABLE, '', { onEvent: () => count++, onMissedEvents: () => {} })
  watchers.onEvent(toEvent('a'))
  t.equal(count, 2)
  watchers.onEvent(toEvent('a'))
  t.equal(count, 3)
  t.end()
})

t.test('notifies a watcher that subscribes after all others have unsubscribed', (t) => {
  const watchers = createStoreWatchers()
  const received: string[] = []
  const listener = {
    onEvent: ({ key }: StoreEvent) => void received.push(key),
    onMissedEvents: () => {},
  }
  watchers.add(TABLE, '', listener)()
  watchers.add(TABLE, '', listener)
  watchers.onEvent(toEvent('a'))
  t.strictSame(received, ['a'])
  t.end()
})
