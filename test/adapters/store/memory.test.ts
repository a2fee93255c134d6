import t from 'tap'
import { createMemoryStore } from '../../../adapters/store/memory.ts'
import { testStore } from '../../contracts/store.ts'

testStore(t, () => ({ adapter: createMemoryStore() }))
