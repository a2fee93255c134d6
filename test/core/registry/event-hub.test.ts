import t from 'tap'
import type { RegistryEvent } from '../../../core/contracts/registry.ts'
import { createRegistryWatchers } from '../../../core/registry/event-hub.ts'
import { makeService } from '../../fixtures/services.ts'

const event: RegistryEvent = { type: 'create', service: makeService('greeter', []) }

t.test('every listener receives events until it is stopped', async (t) => {
  const { watch, emit } = createRegistryWatchers()
  const events: RegistryEvent[] = []
  const listener = (event: RegistryEvent): void => {
    events.push(event)
  }
  const stop = watch(listener)
  watch(listener)
  emit(event)
  t.same(events, [event, event])
  stop()
  emit(event)
  t.equal(events.length, 3)
})

t.test('a listener can stop itself and add others during an event', async (t) => {
  const { watch, emit } = createRegistryWatchers()
  const events: string[] = []
  const stop = watch(() => {
    events.push('first')
    stop()
    watch(() => events.push('second'))
  })
  emit(event)
  emit(event)
  t.same(events, ['first', 'second'])
})

t.test(
  'a listener that throws is reported, and the other listeners receive the event',
  async (t) => {
    const { watch, emit } = createRegistryWatchers()
    const warnings = t.capture(process, 'emitWarning', () => {})
    const events: string[] = []
    watch(() => {
      throw new Error('a faulty listener')
    })
    watch(() => events.push('other'))
    emit(event)
    t.same(events, ['other'])
    t.match(warnings(), [{ args: [{ message: 'a faulty listener' }] }])
  },
)

t.test('a listener with a service receives events of that service only', async (t) => {
  const { watch, emit } = createRegistryWatchers()
  const events: string[] = []
  const stop = watch(() => events.push('greeter'), { service: 'greeter' })
  watch(() => events.push('users'), { service: 'users' })
  watch(() => events.push('any'))
  emit(event)
  t.same(events, ['greeter', 'any'])
  stop()
  watch(() => events.push('greeter again'), { service: 'greeter' })
  stop()
  emit(event)
  t.same(events, ['greeter', 'any', 'greeter again', 'any'])
})

t.test(
  'every listener is notified of an outage, even if it is added during the outage',
  async (t) => {
    const { watch, reportOutage } = createRegistryWatchers()
    const events: string[] = []
    const startWatch = (name: string, service?: string) =>
      watch(() => {}, {
        ...(service !== undefined && { service }),
        onOutage: (reason) => events.push(`${name} ${reason?.message ?? 'back'}`),
      })
    startWatch('all')
    startWatch('greeter', 'greeter')
    watch(() => {})
    reportOutage(new Error('unavailable'))
    t.same(events.splice(0), ['all unavailable', 'greeter unavailable'])
    const unsubscribeLate = startWatch('late')
    startWatch('later')()
    t.same(events, [], 'not before watch() has returned')
    await Promise.resolve()
    t.same(events.splice(0), ['late unavailable'])
    unsubscribeLate()
    startWatch('too late')
    reportOutage(undefined)
    await Promise.resolve()
    t.same(events, ['all back', 'greeter back', 'too late back'])
  },
)

t.test('an outage listener that throws is reported, and the others are notified', async (t) => {
  const { watch, reportOutage } = createRegistryWatchers()
  const warnings = t.capture(process, 'emitWarning', () => {})
  let notifications = 0
  watch(() => {}, {
    onOutage() {
      throw new Error('a faulty listener')
    },
  })
  watch(() => {}, { onOutage: () => notifications++ })
  reportOutage(new Error('unavailable'))
  t.equal(notifications, 1)
  t.match(warnings(), [{ args: [{ message: 'a faulty listener' }] }])
})
