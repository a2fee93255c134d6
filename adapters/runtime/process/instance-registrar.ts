import type { Workload } from '../../../core/contracts/runtime.ts'

/** A copy of protocol `http` that others find. */
export interface RegisteredInstance {
  /** Takes it out; resolves once nobody calls it any more. It is waited for as long as a copy may take to drain. */
  readonly leave: () => Promise<void>
  /** Tells that the copy is gone, and that another one is to come: until it leaves others find it, and call it no more. */
  readonly fall: () => Promise<void>
}

/** What the runtime asks of the platform about the copies it runs: whether one serves, and that others find it. */
export interface InstanceRegistrar {
  /**
   * Resolves once the copy of protocol `mx` is registered (its node's metadata has `instance`) and answered its health call.
   * Rejects by the signal alone: what is not there yet is waited for.
   */
  readonly whenReady: (workload: Workload, instance: string, signal: AbortSignal) => Promise<void>
  /** Takes an instance of protocol `mx` that has ended out of the registry, which it may have had no time to leave. Does nothing for one that left. */
  readonly forget: (workload: Workload, instance: string) => Promise<void>
  /**
   * Registers a copy of protocol `http` that answers at `host:port`, and renews that until it leaves; resolves once others find it.
   * Rejects with why it cannot be.
   */
  readonly register: (
    workload: Workload,
    instance: string,
    address: string,
  ) => Promise<RegisteredInstance>
}
