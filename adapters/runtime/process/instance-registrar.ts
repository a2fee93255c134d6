import type { Workload } from '../../../core/contracts/runtime.ts'

/** A registered instance with protocol `http`. */
export interface RegisteredInstance {
  /**
   * Deregisters the instance and resolves when no caller uses it any more. Awaited at most for the
   * drain time.
   */
  readonly leave: () => Promise<void>
  /**
   * Reports that the instance has failed and will be replaced. Until `leave`, it stays discoverable
   * but receives no calls.
   */
  readonly markFailed: () => Promise<void>
}

/** Registry operations that the runtime performs for its instances. */
export interface InstanceRegistrar {
  /**
   * Resolves when the instance with protocol `mx` is registered (its node's metadata has
   * `instance`) and its health call has succeeded. Rejects only on abort.
   */
  readonly whenReady: (workload: Workload, instance: string, signal: AbortSignal) => Promise<void>
  /**
   * Deregisters an ended instance with protocol `mx`, which may not have done so itself.
   * Idempotent.
   */
  readonly forget: (workload: Workload, instance: string) => Promise<void>
  /**
   * Registers an instance with protocol `http` at `host:port` and renews the registration until it
   * leaves. Resolves when the instance is discoverable. Rejects with the reason if it cannot be
   * registered.
   */
  readonly register: (
    workload: Workload,
    instance: string,
    address: string,
  ) => Promise<RegisteredInstance>
}
