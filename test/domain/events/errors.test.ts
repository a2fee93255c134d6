import t from 'tap'
import {
  eventsError,
  eventsFull,
  eventsUnavailable,
  groupDeleted,
} from '../../../domain/events/errors.ts'

t.test('sets the service id and a code, and preserves the cause', (t) => {
  const cause = new Error('the cause')
  t.match(eventsFull(cause), { id: 'events', code: 507, cause })
  t.match(eventsUnavailable(cause), { id: 'events', code: 503, cause })
  t.match(groupDeleted('a'), { id: 'events', code: 410, message: 'the group a was deleted' })
  t.match(eventsError(400, 'the detail'), { id: 'events', code: 400, message: 'the detail' })
  t.end()
})
