import t from 'tap'
import { createMemoryEvents } from '../../../adapters/events/memory.ts'
import { testEvents } from '../../contracts/events.ts'

testEvents(t, () => ({ adapter: createMemoryEvents() }))
