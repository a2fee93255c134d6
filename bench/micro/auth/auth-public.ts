import type { Micro } from '../micro.ts'
import { createAuthBench } from './auth-parts.ts'

const few = await createAuthBench(0)
const many = await createAuthBench(10_000)

const micro: Micro = {
  benches: {
    'exchange without plugin': few.createRun(false, undefined),
    'public rule': few.createRun(true, undefined),
    'public rule after 10 000 other rules': many.createRun(true, undefined),
  },
  close() {
    for (const { close } of [few, many]) close()
  },
}

export default micro
