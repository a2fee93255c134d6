/**
 * Public API for running a registry: `import { createMemoryRegistry, createRegistryService } from
 * 'mx-gateway/registry'`.
 *
 * Services and clients do not need this API: they connect to a registry by its URL.
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
