// SPDX-FileCopyrightText: The gpuops.reservations contributors
// SPDX-License-Identifier: GPL-3.0-or-later

//go:build !kubebuilder_assets

package main

import (
	"os"

	"go.etcd.io/etcd/server/v3/etcdmain"
)

func init() {
	components["etcd"] = func() { etcdmain.Main(os.Args) }
}
