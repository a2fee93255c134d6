import t from 'tap'
import { SharedPlaces } from '../../../core/limits/shared-places.ts'

t.test('a namespace leaves as many places free as it uses', async (t) => {
  const slots = new SharedPlaces(8, 'watchers')
  const enter = (namespace: string) => slots.enter(namespace, 'x.Watch')
  const releases = Array.from({ length: 4 }, () => enter('acme'))
  t.throws(() => enter('acme'), {
    ...{ id: 'x.Watch', code: 429, message: 'too many watchers for namespace acme: 4' },
  })
  enter('')
  enter('')
  t.throws(() => enter(''), { code: 429, message: 'too many watchers for anonymous callers: 2' })
  for (const _ of [1, 2]) releases[0]!()
  for (const namespace of ['other', 'mx', 'mx']) enter(namespace)
  t.throws(() => enter('mx'), { code: 429 }, 'releasing a place twice frees it once')
})

t.test('the mx namespace can use all places', async (t) => {
  const slots = new SharedPlaces(2, 'watchers')
  const release = slots.enter('mx', 'x')
  slots.enter('mx', 'x')
  t.throws(() => slots.enter('mx', 'x'), { code: 429, message: 'limit of 2 watchers reached' })
  release()
  slots.enter('mx', 'x')
})
