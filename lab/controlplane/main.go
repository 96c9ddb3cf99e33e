// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: The gpuops.reservations contributors

// Command controlplane is the lab's control plane in one binary: etcd and the
// real API server, controller manager and scheduler, a sub-command each.
// Kubernetes is a dependency here; none of its source is copied.
package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
)

func component(name string) (*cobra.Command, bool) {
	switch name {
	case "etcd":
		return etcdCommand(), true
	case "kube-apiserver":
		return apiserver.NewAPIServerCommand(), true
	case "kube-controller-manager":
		return controllermanager.NewControllerManagerCommand(), true
	case "kube-scheduler":
		return scheduler.NewSchedulerCommand(), true
	}
	return nil, false
}

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: controlplane etcd|kube-apiserver|kube-controller-manager|kube-scheduler [flags]")
		os.Exit(2)
	}
	command, known := component(os.Args[1])
	if !known {
		fmt.Fprintf(os.Stderr, "controlplane: no component %q\n", os.Args[1])
		os.Exit(2)
	}
	// The components' commands read the process's arguments, so each has to see
	// its own flags alone.
	os.Args = append([]string{os.Args[1]}, os.Args[2:]...)
	os.Exit(cli.Run(command))
}
