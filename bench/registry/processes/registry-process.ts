// The registry service as a separate process. Argument: port.
import { createMemoryRegistry } from '../../../adapters/registry/memory.ts'
import { createRegistryService } from '../../../services/registry/service.ts'

const { run } = createRegistryService({
  createRegistry: () => createMemoryRegistry(),
  address: `127.0.0.1:${process.argv[2]}`,
})
await run()
