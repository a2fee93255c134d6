/** A difference between two configurations. */
export interface ConfigChange {
  readonly kind: 'route' | 'service' | 'consumer' | 'plugin' | 'order' | 'setting'
  /** Name of the route, service, consumer, plugin or setting. */
  readonly name: string
  readonly change: 'added' | 'removed' | 'changed'
  /**
   * Values of a setting with redacted secrets, or changed keys of a route, service or plugin; empty
   * if none.
   */
  readonly detail: string
}

/** A version of the configuration, without its text. */
export interface ConfigVersion {
  /** Increases by one. */
  readonly number: number
  /** Unix time in milliseconds. */
  readonly time: number
  /** Account, `admin token`, or `file` if the configuration file was changed. */
  readonly author: string
  /** Hash of the text as written. */
  readonly etag: string
  /** Changes summarized in one line. */
  readonly summary: string
}

export interface ConfigDiff {
  /** Version that the text was compared with. */
  readonly etag: string
  readonly changes: readonly ConfigChange[]
  /** Changed settings that take effect after a restart. */
  readonly restart: readonly string[]
}

export interface AppliedConfig extends ConfigDiff {
  readonly version: ConfigVersion
  /**
   * Configuration file that was written. Empty if no file is used: the version is then lost on a
   * restart.
   */
  readonly file: string
}

export interface ApplyOptions {
  /** ETag of the version to replace, or `*` for any version. */
  readonly ifMatch: string
  readonly author: string
}

/** Versions of the configuration of the running gateway, in `mx.yaml` format. */
export interface ConfigVersions {
  /** Version in use. */
  readonly current: () => ConfigVersion
  /** Returns the versions, oldest first. */
  readonly list: () => readonly ConfigVersion[]
  /** Compares a configuration with the running one. @throws {GatewayError} 400 if it is invalid. */
  readonly diff: (text: string) => Promise<ConfigDiff>
  /**
   * Replaces the configuration for new requests and writes the configuration file. Settings that
   * require a restart are only written and reported.
   *
   * @throws {GatewayError} 400 if the configuration is invalid, 412 if `ifMatch` is not the current
   * version, 409 if the file cannot be written. Nothing is changed in these cases.
   */
  readonly apply: (text: string, options: ApplyOptions) => Promise<AppliedConfig>
  /**
   * Applies an earlier version as a new version.
   *
   * @param number version number; 0 for the version before the current one.
   * @throws {GatewayError} same errors as {@link apply}, and 404 for an unknown version.
   */
  readonly rollback: (number: number, options: ApplyOptions) => Promise<AppliedConfig>
}
