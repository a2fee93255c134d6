import type { Workload } from '../../../core/contracts/runtime.ts'

/** A registered instance that uses the `http` protocol. */
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
   * Resolves when an instance that uses the `mx` protocol is registered (the metadata of its node
   * contains `instance`) and its health call has succeeded. Rejects only on abort.
   */
  readonly whenReady: (workload: Workload, instance: string, signal: AbortSignal) => Promise<void>
  /**
   * Deregisters an ended instance that uses the `mx` protocol and may not have done so itself.
   * Idempotent.
   */
  readonly forget: (workload: Workload, instance: string) => Promise<void>
  /**
   * Registers an instance that uses the `http` protocol at `host:port`, and renews the registration
   * until it leaves. Resolves when the instance is discoverable. Rejects with the reason if it cannot be
   * registered.
   */
  readonly register: (
    workload: Workload,
    instance: string,
    address: string,
  ) => Promise<RegisteredInstance>
}
