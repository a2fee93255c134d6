import t from 'tap'
import { SharedPlaces } from '../../../core/limits/shared-places.ts'

t.test('a namespace leaves as many places free as it uses', async (t) => {
  const places = new SharedPlaces(8, 'watchers')
  const enter = (namespace: string) => places.enter(namespace, 'x.Watch')
  const leaves = Array.from({ length: 4 }, () => enter('acme'))
  t.throws(() => enter('acme'), {
    ...{ id: 'x.Watch', code: 429, message: 'too many watchers for namespace acme: 4' },
  })
  enter('')
  enter('')
  t.throws(() => enter(''), { code: 429, message: 'too many watchers for anonymous callers: 2' })
  for (const _ of [1, 2]) leaves[0]!()
  for (const namespace of ['other', 'mx', 'mx']) enter(namespace)
  t.throws(() => enter('mx'), { code: 429 }, 'releasing a place twice frees it once')
})

t.test('the mx namespace can use all places', async (t) => {
  const places = new SharedPlaces(2, 'watchers')
  const leave = places.enter('mx', 'x')
  places.enter('mx', 'x')
  t.throws(() => places.enter('mx', 'x'), { code: 429, message: 'limit of 2 watchers reached' })
  leave()
  places.enter('mx', 'x')
})
