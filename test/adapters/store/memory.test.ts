import t from 'tap'
import { createMemoryStore } from '../../../adapters/store/memory.ts'
import { testStore } from '../../contracts/store.ts'
import { testStoreModel } from '../../contracts/store-model.ts'

testStore(t, () => ({ adapter: createMemoryStore() }))
testStoreModel(t, createMemoryStore, 1000)
