import type { Workload } from '../../../core/contracts/runtime.ts'

/** A registered instance of protocol `http`. */
export interface RegisteredInstance {
  /** Deregisters the instance; resolves when no caller uses it any more. Awaited at most for the drain time. */
  readonly leave: () => Promise<void>
  /** Reports that the instance failed and will be replaced: until `leave` it stays discoverable but receives no calls. */
  readonly markFailed: () => Promise<void>
}

/** Registry operations of the runtime for its instances. */
export interface InstanceRegistrar {
  /**
   * Resolves when the instance of protocol `mx` is registered (its node's metadata has `instance`) and its health call succeeded.
   * Rejects only on abort.
   */
  readonly whenReady: (workload: Workload, instance: string, signal: AbortSignal) => Promise<void>
  /** Deregisters an ended instance of protocol `mx`, which may not have done so itself. Idempotent. */
  readonly forget: (workload: Workload, instance: string) => Promise<void>
  /**
   * Registers an instance of protocol `http` at `host:port` and renews the registration until it leaves; resolves when it is
   * discoverable. Rejects with the reason if it cannot be registered.
   */
  readonly register: (
    workload: Workload,
    instance: string,
    address: string,
  ) => Promise<RegisteredInstance>
}
