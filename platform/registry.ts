/**
 * What whoever runs a registry imports: `import { createMemoryRegistry, createRegistryService } from 'mx-gateway/registry'`.
 *
 * The entry point `mx-gateway/registry`; the rest of the program imports the files themselves. Services and clients need none of it:
 * they take the text that names their registry.
 */
export { type ConsulRegistryOptions, createConsulRegistry } from '../adapters/registry/consul.ts'
export {
  createKubernetesRegistry,
  type KubernetesRegistryOptions,
} from '../adapters/registry/kubernetes.ts'
export { createMemoryRegistry, type MemoryRegistryOptions } from '../adapters/registry/memory.ts'
export type { Service } from '../core/contracts/registry.ts'
export { type OpenedRegistry, openRegistry } from '../sdk/registry/open-registry.ts'
export {
  type Registration,
  type RegistrationOptions,
  register,
} from '../sdk/service/registration.ts'
export {
  createRegistryService,
  type RegistryService,
  type RegistryServiceOptions,
} from '../services/registry/service.ts'
