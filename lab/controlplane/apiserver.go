// SPDX-FileCopyrightText: The gpuops.reservations contributors
// SPDX-License-Identifier: GPL-3.0-or-later

//go:build !kubebuilder_assets

package main

import apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"

func init() {
	components["kube-apiserver"] = kubernetes(apiserver.NewAPIServerCommand)
}
