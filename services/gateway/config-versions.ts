/** A difference between two configurations. */
export interface ConfigChange {
  readonly kind: 'route' | 'service' | 'consumer' | 'plugin' | 'order' | 'setting'
  /** Name of the route, service, consumer, plugin or setting. */
  readonly name: string
  readonly change: 'added' | 'removed' | 'changed'
  /** Values of a setting, with secrets redacted; changed keys of a route, service or plugin; empty if none. */
  readonly detail: string
}

/** A version of the configuration, without its text. */
export interface ConfigVersion {
  /** Increases by one. */
  readonly number: number
  /** Unix time in milliseconds. */
  readonly time: number
  /** Account, `admin token`, or `file` for a change of the configuration file. */
  readonly author: string
  /** Hash of the text as written. */
  readonly etag: string
  /** Changes in one line. */
  readonly summary: string
}

export interface ConfigDiff {
  /** Version that the text was compared with. */
  readonly etag: string
  readonly changes: readonly ConfigChange[]
  /** Changed settings that take effect at the next start. */
  readonly restart: readonly string[]
}

export interface AppliedConfig extends ConfigDiff {
  readonly version: ConfigVersion
  /** Configuration file that was written; empty: there is none, and a restart loses the version. */
  readonly file: string
}

export interface ApplyOptions {
  /** ETag of the version to replace; `*`: any. */
  readonly ifMatch: string
  readonly author: string
}

/** Versions of the configuration of the running gateway, in `mx.yaml` format. */
export interface ConfigVersions {
  /** Version in use. */
  readonly current: () => ConfigVersion
  /** Oldest first. */
  readonly list: () => readonly ConfigVersion[]
  /** Compares a configuration with the running one. @throws {GatewayError} 400 for an invalid one. */
  readonly diff: (text: string) => Promise<ConfigDiff>
  /**
   * Replaces the configuration for new requests and writes the configuration file. Settings that require a restart are
   * written and reported only.
   *
   * @throws {GatewayError} 400 for an invalid one, 412 if `ifMatch` is not the current version, 409 if the file cannot
   *   be written; nothing is changed then.
   */
  readonly apply: (text: string, options: ApplyOptions) => Promise<AppliedConfig>
  /**
   * Applies an earlier version as a new one.
   *
   * @param number 0: the version before the current one.
   * @throws {GatewayError} as {@link apply}, and 404 for an unknown version.
   */
  readonly rollback: (number: number, options: ApplyOptions) => Promise<AppliedConfig>
}
